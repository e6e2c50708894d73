package conformance.client;

import java.lang.reflect.InvocationTargetException;
import java.util.List;
import java.util.Optional;

/** Parts of this application that are compiled only against releases that have what they use. */
final class Extensions {
    private static final List<String> OF_ADMINISTRATORS = List.of("ShareAdmin", "StreamsAdmin");

    private Extensions() {}

    /** Return the member of a settings' protocol; nothing where that is a consumer's. */
    static Optional<Member> member(Settings settings, Talk talk) {
        return switch (settings.protocol()) {
            case "share" -> Optional.of(required("ShareMember", settings, talk));
            case "streams" -> Optional.of(required("StreamsMember", settings, talk));
            default -> Optional.empty();
        };
    }

    /** Return what administrators can be told to do with groups that this release has. */
    static List<Verbs> ofAdministrators(Settings settings, Talk talk) {
        return OF_ADMINISTRATORS.stream()
                .flatMap(name -> made(Verbs.class, name, settings, talk).stream())
                .toList();
    }

    private static Member required(String name, Settings settings, Talk talk) {
        return made(Member.class, name, settings, talk)
                .orElseThrow(() -> new UnsupportedOperationException("this release has no " + name));
    }

    private static <T> Optional<T> made(Class<T> kind, String name, Settings settings, Talk talk) {
        try {
            var type = Class.forName("conformance.client." + name);
            var constructor = type.getDeclaredConstructor(Settings.class, Talk.class);
            return Optional.of(kind.cast(constructor.newInstance(settings, talk)));
        } catch (ClassNotFoundException absent) {
            return Optional.empty();
        } catch (InvocationTargetException error) {
            throw error.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(error);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }
}
