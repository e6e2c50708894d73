import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.apache.kafka.timeline.TimelineHashMap;

/**
 * Prints what was done to maps, and the order in which they iterate then.
 * Run with kafka-server-common, kafka-clients and slf4j-api on the class path, and the number of maps.
 */
public final class MapOrders {
    private static final Random RANDOM = new Random(7);

    public static void main(String[] args) {
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            int capacity = 1 << RANDOM.nextInt(6);
            print("hash " + capacity, new HashMap<>(capacity), true);
            print("timeline 0", new TimelineHashMap<>(new SnapshotRegistry(new LogContext()), 0), false);
        }
    }

    private static void print(String kind, Map<String, String> map, boolean computes) {
        StringBuilder done = new StringBuilder(kind);
        List<String> keys = new ArrayList<>();
        int count = 1 + RANDOM.nextInt(RANDOM.nextBoolean() ? 15 : 60);
        for (int i = 0; i < count; i++) {
            String key = keys.isEmpty() || RANDOM.nextInt(10) < 7 ? newKey() : keys.get(RANDOM.nextInt(keys.size()));
            keys.add(key);
            int what = RANDOM.nextInt(10);
            if (what < 2) {
                map.remove(key);
                done.append(" -").append(key);
            } else if (what < 5 && computes) {
                map.computeIfAbsent(key, __ -> key);
                done.append(" ?").append(key);
            } else {
                map.put(key, key);
                done.append(" +").append(key);
            }
        }
        System.out.println(done + "\t" + String.join(" ", map.keySet()));
    }

    /** Six of the keys have one hash: fewer than a bucket holds before it becomes a tree. */
    private static String newKey() {
        if (RANDOM.nextInt(4) > 0) {
            return Integer.toString(RANDOM.nextInt(1 << 20), 36);
        }
        String[] alike = {"AaAaAa", "AaAaBB", "AaBBAa", "AaBBBB", "BBAaAa", "BBAaBB"};
        return alike[RANDOM.nextInt(alike.length)];
    }
}
