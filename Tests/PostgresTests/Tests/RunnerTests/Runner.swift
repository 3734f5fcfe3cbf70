// The tests are in this library, where they see what is `package`; the test program runs whatever is linked into it.
import PostgresLogTests
