// Recursion, sorting and strings, some of it interpreted, the rest compiled.
class Works {
	static int fibonacci(int n) {
		return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
	}

	public static void main(String[] args) {
		System.out.println("ready");
		for (int i = 0;; i++) {
			fibonacci(15);
			int[] v = new java.util.Random(i).ints(100).toArray();
			java.util.Arrays.sort(v);
			String.valueOf(v[i % 100]).hashCode();
		}
	}
}
