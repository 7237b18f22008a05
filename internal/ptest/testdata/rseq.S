/* restartable(struct rseq *, uint64_t *aborts, int *over): a restartable sequence that goes on until
 * over is set. Its abort handler counts, and begins anew. */
	.text
	.globl restartable, in_sequence, behind_sequence
	.type restartable, @function
	.type in_sequence, @function
	.type behind_sequence, @function
restartable:
	leaq	descriptor(%rip), %rax
	movq	%rax, 8(%rdi)
begin:
	cmpl	$0, (%rdx)
in_sequence:
	nop
	jz	begin
	.size in_sequence, 1
behind_sequence:
	movq	$0, 8(%rdi)
	ret
	.size behind_sequence, .-behind_sequence
	.byte	0x0f, 0xb9, 0x3d	/* the signature, as an instruction that does not exist */
	.long	0x53053053
abort:
	incq	(%rsi)
	jmp	restartable
	.size restartable, .-restartable

	.section __rseq_cs, "aw"
	.balign	32
descriptor:
	.long	0, 0
	.quad	begin, behind_sequence - begin, abort

	.section .note.GNU-stack, "", @progbits
