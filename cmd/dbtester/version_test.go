package main

import (
	"runtime/debug"
	"testing"
)

func TestSourceOf(t *testing.T) {
	repository := []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}, {Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}}
	release := source{"v0.3.0", "def", "2026-05-06T07:08:09Z"}
	for name, tt := range map[string]struct {
		given source
		info  *debug.BuildInfo
		want  source
	}{
		"nothing is known":    {source{version: unnamed}, nil, source{version: unnamed}},
		"a folder":            {source{version: unnamed}, &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, source{version: unnamed}},
		"go install at a tag": {source{version: unnamed}, &debug.BuildInfo{Main: debug.Module{Version: "v0.3.0"}}, source{version: "v0.3.0"}},
		"a changed checkout":  {source{version: "v0.3.0-dirty"}, &debug.BuildInfo{Settings: repository}, source{"v0.3.0-dirty", "abc-modified", "2026-01-02T03:04:05Z"}},
		"a release":           {release, &debug.BuildInfo{Main: debug.Module{Version: "v9.9.9"}, Settings: repository}, release},
	} {
		if got := sourceOf(tt.given, tt.info); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tt.want)
		}
	}
}
