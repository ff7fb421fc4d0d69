package install

import "context"

func (r Maven) layout() map[string]string { return nil }

func (r Maven) describe(version string) string { return "" }

func (r Maven) obtain(ctx context.Context, s *stage) error { return nil }
