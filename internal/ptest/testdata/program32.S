/*
 * program32: 32-bit code. It waits 40 times in epoll_wait for 25 ms, and ends with status 7, or 9 if a wait
 * ended before its time. Built with -m32 -nostdlib -static.
 */
	.globl _start
	.text
_start:
	mov $329, %eax		/* epoll_create1 */
	xor %ebx, %ebx
	int $0x80
	mov %eax, %ebp
	mov $40, %edi
again:
	mov $256, %eax		/* epoll_wait */
	mov %ebp, %ebx
	mov $event, %ecx
	mov $1, %edx
	mov $25, %esi
	int $0x80
	test %eax, %eax
	jnz early
	dec %edi
	jnz again
	mov $7, %ebx
	jmp end
early:
	mov $9, %ebx
end:
	mov $1, %eax		/* exit */
	int $0x80
	.bss
	.balign 4
event:	.space 16
	.section .note.GNU-stack, "", @progbits
