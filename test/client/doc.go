// Package client tests package client of the top folder on servers: its tests see what a program sees, and need more
// than the module of the client requires.
//
// Ensembles whose servers are killed and whose connections are cut come from server/embed. What a test of the
// client's own package holds on each server that it is given, beside a fake one, it must hold on Warren: TestOnWarren
// runs those.
package client
