"""In which order the JVM's maps iterate: a program that fills some, and what it printed."""
