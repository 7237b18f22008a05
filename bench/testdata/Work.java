import java.util.Arrays;

/** Sorts and joins for a while, sleeps for a millisecond, until it is killed; ten minutes at most. */
public class Work {
    static long turn(long n) {
        String[] words = new String[500];
        for (int i = 0; i < words.length; i++) {
            words[i] = Long.toString((i * 7919L + n) % 1009);
        }
        Arrays.sort(words);
        return String.join(",", words).hashCode();
    }

    public static void main(String[] args) throws InterruptedException {
        System.out.println("at work");
        long end = System.nanoTime() + 600_000_000_000L;
        for (long n = 0, sum = 0; System.nanoTime() < end; n++) {
            sum += turn(n);
            if (n % 10 == 0) {
                Thread.sleep(1);
            }
            if (sum == 42) {
                System.out.println(sum);
            }
        }
    }
}
