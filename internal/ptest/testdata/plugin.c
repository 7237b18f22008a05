/* plugin: the object that dlchurn loads. */
int plugin_call(int x)
{
	return x + 1;
}
