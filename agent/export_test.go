package agent

import "context"

// SetDown takes the member of a run down, or brings it up.
func (a *Agent) SetDown(ctx context.Context, run string, down bool) error {
	s, err := a.own(run)
	if err != nil {
		return err
	}
	return s.setDown(ctx, down)
}
