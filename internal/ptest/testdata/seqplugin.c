/* seqplugin: a plugin for dlchurn that has plugin_sequence, inside a restartable sequence. */
__asm__(".text\n"
	".globl plugin_sequence\n"
	".type plugin_sequence, @function\n"
	"plugin_sequence:\n"
	"sequence:\n"
	"	nop\n"
	"	nop\n"
	"	ret\n"
	".size plugin_sequence, .-plugin_sequence\n"
	".section __rseq_cs, \"aw\"\n"
	".balign 32\n"
	".long 0, 0\n"
	".quad sequence, 2, sequence\n"
	".text\n");

int plugin_call(int x)
{
	return x + 1;
}
