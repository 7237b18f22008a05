package bkpt

// breakByte is the int3 instruction.
const breakByte = 0xcc

// siKernel is the si_code of the SIGTRAP that int3 raises (SI_KERNEL); a
// SIGTRAP that somebody sent has another.
const siKernel = 0x80
