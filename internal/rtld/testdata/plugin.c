/* plugin: a shared object. */
int plugin(int x)
{
	return x + 1;
}
