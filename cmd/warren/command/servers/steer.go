package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed94657493/warren/cmd/warren/command/reach"
)

// steering is how commands that steer a running server reach it: the commands of its admin server.
type steering struct {
	reach.ClientTLS
	admin    string
	authFile string
	timeout  time.Duration
}

// addTo adds the flags.
func (o *steering) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&o.admin, "admin", "http://127.0.0.1:8080/commands",
		"URL of the commands of the server's admin server")
	reach.AddAuthFile(flags, &o.authFile)
	flags.DurationVar(&o.timeout, "timeout", 30*time.Second, "how long one answer may take")
	o.ClientTLS.AddTo(flags)
}

// adminAnswerMax bounds the answer of an admin server.
const adminAnswerMax = 1 << 20

// ask sends a request to a command and decodes its answer.
func (o *steering) ask(ctx context.Context, command string, request, answer any) error {
	address, err := url.JoinPath(o.admin, command)
	if err != nil {
		return err
	}
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	authorization, err := reach.Authorization(o.authFile)
	if err != nil {
		return err
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	secure, err := o.Of(r.URL.Host)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: secure, DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, adminAnswerMax))
	if err != nil {
		return err
	}
	var outcome struct {
		Error *string `json:"error"`
	}
	err = json.Unmarshal(text, &outcome)
	switch {
	case err == nil && outcome.Error != nil:
		return fmt.Errorf("%s: %s", o.admin, *outcome.Error)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s", o.admin, resp.Status)
	case err != nil:
		return fmt.Errorf("%s: answers %s, and nothing that can be read: is it the admin port?", o.admin, resp.Status)
	}
	return json.Unmarshal(text, answer)
}
