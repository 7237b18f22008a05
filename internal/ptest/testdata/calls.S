/*
 * The functions that calls calls. Each returns its argument (rdi) plus one in rax. It does that by the
 * instruction at its symbol f_KIND, which is its first one unless there is an entry_KIND. On entry rax is
 * rdi+1 (a system call's number for f_syscall, 0 for f_cpuid), rcx is 0, rdx the address of f_lea, rsi the
 * stack segment, and ZF says that rdi is even. All registers except rsp and rbp are scratch. The effect of
 * the instruction is used, so that a wrong effect gives a wrong sum.
 */
#if defined(__x86_64__)
	.intel_syntax noprefix

	.macro	function name
	.p2align 4
	.globl	\name
	.type	\name, @function
\name:
	.endm

	.text
function f_push
	push	rbp
	mov	rbp, rsp
	lea	rax, [rdi + 1]
	pop	rbp
	ret

function f_ret
	ret

function f_jcc
	jz	1f
	mov	rax, rdi		/* odd */
	and	eax, 1
	add	rax, rdi
	ret
1:	mov	rax, rdi		/* even */
	and	eax, 1
	lea	rax, [rax + rdi + 1]
	ret

function f_ripmov
	mov	rax, [rip + one]
	add	rax, rdi
	ret

function f_ripstore
	mov	[rip + scratch], rdi
	lea	rax, [rdi + 1]
	ret

function f_ripcmp
	cmp	qword ptr [rip + one], 1
	jne	wrong
	lea	rax, [rdi + 1]
	ret

function f_riplea
	lea	rax, [rip + one]
	mov	rax, [rax]
	add	rax, rdi
	ret

function f_call
	call	f_lea
	ret

function f_callmem
	call	[rip + pointer]
	ret

function f_callreg
	call	rdx
	ret

function f_jmp
	jmp	f_lea

function f_jmpmem
	jmp	[rip + pointer]

function f_jmpreg
	jmp	rdx

function f_jrcxz
	jrcxz	1f
	jmp	wrong
1:	lea	rax, [rdi + 1]
	ret

function f_syscall
	syscall
	cmp	rax, [rip + parent]
	jne	wrong
	lea	rax, [rdi + 1]
	ret

function f_nop
	nop
	lea	rax, [rdi + 1]
	ret

function f_longnop
	nop	word ptr cs:[rax + rax + 512]
	lea	rax, [rdi + 1]
	ret

function f_endbr
	endbr64
	lea	rax, [rdi + 1]
	ret

/* No interrupt, and so no single step, falls between this and the next instruction. */
function f_movss
	mov	ss, esi
	lea	rax, [rdi + 1]
	ret

function f_cpuid
	cpuid
	test	eax, eax
	jz	wrong
	lea	rax, [rdi + 1]
	ret

function f_rdtsc
	rdtsc
	lea	rax, [rdi + 1]
	ret

function f_sse
	movsd	xmm0, [rip + onefloat]
	cvttsd2si rax, xmm0
	add	rax, rdi
	ret

/* The trap flag must not be seen. */
function f_pushf
	pushfq
	pop	rax
	test	eax, 0x100
	jnz	wrong
	lea	rax, [rdi + 1]
	ret

function entry_popf
	pushfq
	or	dword ptr [rsp], 1
function f_popf
	popfq
	mov	rax, rdi
	adc	rax, 0
	ret

function f_lockinc
	lock inc qword ptr [rip + locked]
	lea	rax, [rdi + 1]
	ret

function f_xchg
	.byte	0x49, 0x90		/* xchg r8, rax; without the prefix a nop */
	mov	rax, r8
	ret

function f_movrr
	mov	rax, rdi
	inc	rax
	ret

function f_lea
	lea	rax, [rdi + 1]
	ret

function f_subrsp
	sub	rsp, 24
	mov	[rsp + 8], rdi
	mov	rax, [rsp + 8]
	add	rsp, 24
	inc	rax
	ret

function f_addflags
	add	rdi, 1
	mov	rax, rdi		/* not the flags: no carry */
	adc	rax, 0
	ret

function f_fs
	mov	rax, fs:[0]
	cmp	rax, fs:[16]		/* the thread control block points to itself twice */
	jne	wrong
	lea	rax, [rdi + 1]
	ret

function entry_pop
	push	rdi
function f_pop
	pop	rax
	inc	rax
	ret

function entry_leave
	push	rbp
	mov	rbp, rsp
	sub	rsp, 40
function f_leave
	leave
	lea	rax, [rdi + 1]
	ret

function entry_retn
	push	0
	call	f_retn
	lea	rax, [rdi + 1]
	ret
function f_retn
	ret	8

function entry_repstos
	mov	r8, rdi
	sub	rsp, 40
	mov	rdi, rsp
	mov	ecx, 32
	mov	eax, 7
function f_repstos
	rep stosb
	movzx	eax, byte ptr [rsp + 31]
	add	rsp, 40
	lea	rax, [rax + r8 - 6]
	ret

function wrong
	mov	rax, -1
	ret

/* Fifty functions of the most ordinary kind, many_0 to many_49, and their addresses. */
	.altmacro
	.macro	many n
function many_\n
	push	rbp
	mov	rbp, rsp
	lea	rax, [rdi + 1]
	pop	rbp
	ret
	.endm
	.macro	address n
	.quad	many_\n
	.endm
	.set	i, 0
	.rept	50
	many	%i
	.set	i, i + 1
	.endr

	.section .data.rel.ro, "aw"
	.globl	many_table
	.p2align 3
many_table:
	.set	i, 0
	.rept	50
	address	%i
	.set	i, i + 1
	.endr
pointer:
	.quad	f_lea

	.section .rodata
	.p2align 3
one:
	.quad	1
onefloat:
	.double	1.0

	.data
	.p2align 3
	.globl	parent, locked
parent:
	.quad	0
locked:
	.quad	0
scratch:
	.quad	0
#endif
	.section .note.GNU-stack, "", @progbits
