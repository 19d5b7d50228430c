package admin

import (
	"fmt"
	"net/http"
	"runtime/debug"
)

// Fatal returns a handler that ends the process when h panics, as a panic of any other goroutine does. Package
// net/http recovers panics, and h may hold locks that every client of the server needs: they would never be free
// again. A panic with http.ErrAbortHandler only cuts off the answer.
func Fatal(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			switch p {
			case nil:
				return
			case http.ErrAbortHandler:
				panic(p)
			}
			stack := debug.Stack()
			go func() { panic(fmt.Sprintf("%v\n\nin a handler of HTTP requests:\n%s", p, stack)) }()
			select {} // nothing else is done on behalf of this request
		}()
		h.ServeHTTP(w, r)
	})
}
