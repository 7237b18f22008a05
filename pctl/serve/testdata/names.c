/* names: works a third of the time in functions whose names are made to be misread: one of 10,000 letters, one that is HTML and one that drives terminals. */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#define TEN(x) x x x x x x x x x x
#define LONG TEN(TEN(TEN("letters_10")))

#define FUNCTION(name, at) \
	__asm__(".text\n.globl \"" name "\"\n.type \"" name "\", @function\n" \
		"\"" name "\":\n1:\tdec %rdi\n\tjnz 1b\n\tret\n.size \"" name "\", . - \"" name "\"\n" \
		".data\n.globl " at "\n" at ": .quad \"" name "\"\n.text\n")

FUNCTION(LONG, "at_long");
FUNCTION("</script><script>alert(1)</script>", "at_html");
FUNCTION("\033]0;title\007\033[31m", "at_terminal");

extern void (*at_long)(long), (*at_html)(long), (*at_terminal)(long);

int main(void)
{
	prctl(PR_SET_NAME, "<b>\033[31m\"'&\n{}");
	puts("ready");
	fflush(stdout);
	for (;;) {
		for (int i = 0; i < 50; i++) {
			at_long(10000);
			at_html(10000);
			at_terminal(10000);
		}
		usleep(1000);
	}
}
