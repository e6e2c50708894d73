package conformance.client;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** Lines of JSON: commands come on standard input, answers and events go to standard output. */
final class Talk {
    private static final int HUNG_UP = 1;
    private static final double NANOS_PER_MS = 1e6;

    private final ObjectMapper mapper = new ObjectMapper();
    private final PrintStream output = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    private final BlockingQueue<String> commands = new LinkedBlockingQueue<>();

    Talk() {
        var listener = new Thread(this::listen, "commands");
        listener.setDaemon(true);
        listener.start();
    }

    private void listen() {
        try (var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                commands.add(line);
            }
        } catch (IOException error) {
            error.printStackTrace();
        }
        Runtime.getRuntime().halt(HUNG_UP);
    }

    /** Return the next command, or null if there is none yet. */
    JsonNode nextIfThere() throws IOException {
        String line = commands.poll();
        return line == null ? null : mapper.readTree(line);
    }

    /** Return the next command as soon as there is one. */
    JsonNode next() throws IOException, InterruptedException {
        return mapper.readTree(commands.take());
    }

    /** Answer a command with what it came to, null where that is nothing. */
    void answer(int id, Object facts) {
        var content = new LinkedHashMap<String, Object>();
        content.put("id", id);
        content.put("facts", facts);
        write(content);
    }

    /** Answer a command that was refused. */
    void refuse(int id, RuntimeException error) {
        write(Map.of("id", id, "error", ErrorNames.of(error), "says", String.valueOf(error.getMessage())));
    }

    /** Tell what happened just now, on the clock that all processes of a machine share. */
    void event(String kind, Map<String, ?> content) {
        var event = new LinkedHashMap<String, Object>();
        event.put("event", kind);
        event.put("at_ms", System.nanoTime() / NANOS_PER_MS);
        event.putAll(content);
        write(event);
    }

    /** Tell an error that nobody asked for. */
    void error(RuntimeException error) {
        event("error", Map.of("name", ErrorNames.of(error), "says", String.valueOf(error.getMessage())));
    }

    private synchronized void write(Map<String, ?> content) {
        output.println(mapper.valueToTree(content).toString());
        output.flush();
    }
}
