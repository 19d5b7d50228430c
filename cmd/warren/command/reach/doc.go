// Package reach is how commands name running servers and ask them: flags and addresses, the settings of TLS, and the
// word srvr. It holds no state; several goroutines may ask at a time.
package reach
