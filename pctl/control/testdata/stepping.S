/*
 * The instructions of stepping.c that breakpoints are set on. at_NAME is the address of an instruction
 * whose execution does more than continue to the next one.
 */
	.macro	at name
	.globl	at_\name
	.type	at_\name, @function
at_\name:
	.endm

	.macro	function name
	.p2align 4
	.globl	\name
	.type	\name, @function
\name:
	.endm

	.text
/* long raw_fork(void) */
function raw_fork
	movl	$57, %eax
at fork
	syscall
	ret

/* long raw_vfork(void) */
function raw_vfork
	popq	%rdx
	movl	$58, %eax
at vfork
	syscall
	pushq	%rdx
	ret

/* long raw_thread(unsigned long flags, void *stack, int *tid): the thread ends at once */
function raw_thread
	movq	%rdx, %r10
	xorl	%edx, %edx
	xorl	%r8d, %r8d
	movl	$56, %eax
at clone
	syscall
	testq	%rax, %rax
	jz	1f
	ret
1:	xorl	%edi, %edi
	movl	$60, %eax
at exit
	syscall
	hlt

/* what signal handlers return to */
function restorer
	movl	$15, %eax
at sigreturn
	syscall
	hlt

/* instructions that fault: the handler returns behind them, to after_NAME */
	.macro	faulty name, code:vararg
function do_\name
at \name
	\code
	.globl	after_\name
after_\name:
	ret
	.endm

faulty load, movq (%rdi), %rax
faulty vector, movups (%rdi), %xmm0
faulty store, movq %rax, (%rdi)
faulty illegal, ud2
faulty divide, divq %rdi

	.section .note.GNU-stack, "", @progbits
