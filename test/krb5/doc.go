// Package krb5 makes what tests of Kerberos need. Forge makes keytabs and ticket caches without a KDC: it writes the
// tickets that a KDC would give. A KDC gives them in the test's own process, by the clock of its clients. A Realm is
// a real KDC, MIT's krb5kdc of Debian's package krb5-kdc, as a process of its own on a free loopback port, with its
// files in a directory of the test.
package krb5
