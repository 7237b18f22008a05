int in_plugin(void) { return 42; }
