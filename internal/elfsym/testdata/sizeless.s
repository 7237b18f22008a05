	.text
	.globl	first, second, whole, inner, elsewhere, _start
	.type	whole, @function
	.type	_start, @function
_start:
	nop
	.size	_start, 1
whole:
	nop
	nop
inner:
	nop
	nop
	nop
	.size	whole, . - whole
	nop
first:
	nop
	nop
	nop
second:
	nop
	ret
	.section .text.other, "ax"
elsewhere:
	nop
	ret
