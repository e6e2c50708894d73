package conformance.client;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;

/** One client of Kafka's own library; its only argument is its settings, as JSON. */
public final class Main {
    private static final int FAILED = 70;

    private Main() {}

    /** Be a client until told to close; what the library left running ends with the process. */
    public static void main(String[] arguments) throws IOException {
        try {
            new Application(new Settings(new ObjectMapper().readTree(arguments[0])), new Talk()).run();
        } catch (RuntimeException | IOException | InterruptedException error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(FAILED);
        }
        Runtime.getRuntime().halt(0);
    }
}
