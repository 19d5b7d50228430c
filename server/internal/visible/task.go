package visible

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/seed94657493/warren/server/internal/ensemble"
)

// Pass lets another server carry out what a visitor wants of it, and returns its answer.
func (n *Shown) Pass(ctx context.Context, id int64, t ensemble.Task) (*ensemble.TaskAnswer, error) {
	answer, err := n.Task(ctx, id, t)
	switch {
	case errors.Is(err, ensemble.ErrNoServer):
		return nil, refusal(http.StatusNotFound, fmt.Sprintf("there is no server %d beside this one", id))
	case err != nil:
		return nil, refusal(http.StatusBadGateway, fmt.Sprintf("server %d cannot be asked: %v", id, err))
	case answer.Refused != "" && answer.Status >= 400 && answer.Status <= 599:
		return nil, refusal(answer.Status, answer.Refused)
	}
	return answer, nil
}
