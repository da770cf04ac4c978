package books;

import java.util.List;
import static books.Rules.check;

/**
 * Keeps accounts.
 */
public class Ledger extends Book implements Closeable, Comparable<Ledger> {
    private static final int LIMIT = 3;

    public Ledger(String name) { super(name); }

    @Override
    public void close() { check(new Entry<String>(1)); }

    enum State { OPEN, SHUT }
    record Line(int amount) {}
    interface Visitor { void visit(Ledger l); }
}
