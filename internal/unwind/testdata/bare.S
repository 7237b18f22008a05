	.text
	.globl framed, pushing, sizing, jumping, leaf
	.type framed, @function
	.type pushing, @function
	.type sizing, @function
	.type jumping, @function
	.type leaf, @function

framed:	push %rbp
	mov %rsp, %rbp
	sub $48, %rsp
	call back
	leave
	ret
	.size framed, .-framed

pushing:
	push %rbx
	push %rbp
	push %r12
	mov %rdi, %rbx
	xor %ebp, %ebp		# an ordinary register here
1:	inc %rbp
	cmp %rbx, %rbp
	jb 1b
	mov %rbx, %rdi
	call back
	test %rbx, %rbx
	jz 2f
	pop %r12
	pop %rbp
	pop %rbx
	ret
2:	ud2
	.size pushing, .-pushing

sizing:	sub $0x118, %rsp
	mov %rdi, (%rsp)
	lea -8(%rsp), %rsp
	push %rdi
	call back
	add $16, %rsp
	add $0x118, %rsp
	ret
	.size sizing, .-sizing

jumping:
	push %rbx
	pop %rbx
	jmp back		# a tail call
	.size jumping, .-jumping

leaf:	xor %eax, %eax
1:	add %rdi, %rax
	dec %rdi
	jnz 1b
	ret
	.size leaf, .-leaf

	.section .note.GNU-stack,"",@progbits
