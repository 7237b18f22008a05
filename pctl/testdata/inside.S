/* inside: a function whose line table says that line 20 begins in the middle of an instruction. Line 30 is at one. */
	.file 1 "inside.c"
	.text
	.globl odd
	.type odd, @function
odd:
	.loc 1 10
	nop
	.byte 0xb8		/* mov $0x90909090,%eax */
	.loc 1 20
	nop
	nop
	nop
	nop
	.loc 1 30
	ret
	.size odd, . - odd

	.globl main
	.type main, @function
main:
	push %rbx
	lea hello(%rip), %rdi
	call puts@plt
	mov stdout@GOTPCREL(%rip), %rdi
	mov (%rdi), %rdi
	call fflush@plt
1:	xor %edi, %edi
	sub $16, %rsp
	mov %rsp, %rsi
	mov $1, %edx
	call read@plt
	add $16, %rsp
	cmp $1, %rax
	je 1b
	call odd
	pop %rbx
	cmp $0x90909090, %eax
	setne %al
	movzbl %al, %eax
	ret
	.size main, . - main
	.section .rodata
hello:	.asciz "ready"
	.section .note.GNU-stack,"",@progbits
