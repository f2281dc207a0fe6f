// pgjdbc with HikariCP: a pool, transactions, server-side prepared statements, settings, errors, COPY both ways.
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.StringReader;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.postgresql.PGConnection;

public class Hikari {
    static int number(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            r.next();
            return r.getInt(1);
        }
    }

    static void expect(boolean holds, String what) {
        if (!holds) throw new IllegalStateException(what);
    }

    public static void main(String[] args) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:postgresql://127.0.0.1:" + System.getenv("PGPORT") + "/postgres?user=admin&prepareThreshold=2");
        config.setMaximumPoolSize(4);
        try (HikariDataSource pool = new HikariDataSource(config); Connection c = pool.getConnection()) {
            c.setAutoCommit(false);
            try (Statement s = c.createStatement()) {
                s.executeUpdate("delete from visits where who = 'java'");
            }
            try (PreparedStatement s = c.prepareStatement("insert into visits values (?, 'java', ?)")) {
                for (int i = 0; i < 20; i++) {
                    s.setString(1, "java " + i);
                    s.setInt(2, i);
                    s.addBatch();
                }
                s.executeBatch();
            }
            c.commit();
            try (PreparedStatement s = c.prepareStatement("select n from visits where id = ?")) {
                for (int i = 0; i < 20; i++) {
                    s.setString(1, "java " + i);
                    try (ResultSet r = s.executeQuery()) {
                        expect(r.next() && r.getInt(1) == i, "row " + i);
                    }
                    c.commit();
                }
            }
            try (Statement s = c.createStatement()) {
                s.executeUpdate("insert into visits values ('java 0', 'java', 0)");
                throw new IllegalStateException("a duplicate key was taken");
            } catch (SQLException e) {
                expect(e.getSQLState().equals("23505"), e.getSQLState());
            }
            c.rollback();
            c.setReadOnly(true);
            expect(number(c, "select count(*) from visits where who = 'java'") == 20, "count");
            c.commit();
            c.setReadOnly(false);
            try (Statement s = c.createStatement()) {
                s.execute("set timezone to 'Asia/Tokyo'");
            }
            c.commit();
            try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("show timezone")) {
                expect(r.next() && r.getString(1).equals("Asia/Tokyo"), "timezone");
            }
            c.commit();
            org.postgresql.copy.CopyManager copy = c.unwrap(PGConnection.class).getCopyAPI();
            copy.copyIn("copy visits from stdin", new StringReader("java copied\tjava\t99\n"));
            StringWriter out = new StringWriter();
            copy.copyOut("copy (select n from visits where id = 'java copied') to stdout", out);
            expect(out.toString().trim().equals("99"), out.toString());
            c.commit();
        }
        System.out.println("ok");
    }
}
