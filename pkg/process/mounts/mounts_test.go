package mounts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/process/mounts"
)

func TestParse(t *testing.T) {
	const text = "36 35 98:0 /mnt1 /mnt/a\\040b rw,noatime master:1 shared:2 - ext3 /dev/root rw\n40 35 0:45 / /x rw - tmpfs none rw\n"
	got, err := mounts.Parse([]byte(text))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	want := []mounts.Mount{
		{Major: 98, Root: "/mnt1", Point: "/mnt/a b", Type: "ext3", Source: "/dev/root", Options: "rw", MountOptions: "rw,noatime"},
		{Minor: 45, Root: "/", Point: "/x", Type: "tmpfs", Source: "none", Options: "rw", MountOptions: "rw"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the mounts differ (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"36 35 98:0 / /mnt rw\n", "36 35 98 / /mnt rw - ext3 /dev/root rw\n"} {
		if got, err := mounts.Parse([]byte(bad)); err == nil {
			t.Errorf("%q was read as %+v, want an error", bad, got)
		}
	}
}
