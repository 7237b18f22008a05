/* oddplugin: a plugin for dlchurn whose function begins with an instruction that is executed in a copy. */
__asm__(".text\n"
	".globl plugin_call\n"
	".type plugin_call, @function\n"
	"plugin_call:\n"
	"	addss one(%rip), %xmm0\n"
	"	leal 1(%rdi), %eax\n"
	"	ret\n"
	".size plugin_call, . - plugin_call\n"
	".data\n"
	"one:	.long 0x3f800000\n"
	".section .note.GNU-stack, \"\", @progbits\n");
