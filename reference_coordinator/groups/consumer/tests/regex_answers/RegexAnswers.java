import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/**
 * Answers what RE2/J makes of expressions, which come as lines of base64 after a line with topics.
 * A plus and a digit for each topic, 1 where it matches; or a minus and what is wrong.
 */
public final class RegexAnswers {
    public static void main(String[] args) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        String[] topics = questions.readLine().split(" ");
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            answers.println(answer(new String(Base64.getDecoder().decode(line), StandardCharsets.UTF_8), topics));
        }
        answers.flush();
    }

    private static String answer(String text, String[] topics) {
        try {
            Pattern pattern = Pattern.compile(text);
            StringBuilder matches = new StringBuilder("+");
            for (String topic : topics) {
                matches.append(pattern.matcher(topic).matches() ? '1' : '0');
            }
            return matches.toString();
        } catch (PatternSyntaxException error) {
            return "-" + error.getDescription();
        }
    }
}
