package control

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/coreos/dbtester/dbtesterpb"
)

// collect brings one agent's files home, each under the member's number.
func (c *conductor) collect(ctx context.Context, a *agentSession) error {
	reply, err := a.client.Status(ctx, &dbtesterpb.StatusRequest{})
	if err != nil {
		return a.failed(err)
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return fmt.Errorf("open tag folder: %w", err)
	}
	defer root.Close()
	var errs []error
	for i, f := range reply.Files {
		name := homeName(a.index+1, f.Name)
		if name == "" {
			continue
		}
		if err := fetch(ctx, a, int32(i), root, name); err != nil {
			errs = append(errs, fmt.Errorf("collect %s from agent %s: %w", f.Name, a.addr, err))
			continue
		}
		c.run.Members[a.index].Files = append(c.run.Members[a.index].Files, name)
	}
	return errors.Join(errs...)
}

// homeName is where a file of member n goes: "logs/etcd.log" to "logs/1-etcd.log".
// Names that would leave the folder are refused by the root it is written
// through; session files stay with the agent.
func homeName(n int, name string) string {
	dir, base := path.Split(name)
	if dir == "" && !strings.HasSuffix(base, ".csv") {
		return ""
	}
	return path.Join(dir, fmt.Sprintf("%d-%s", n, base))
}

// fetch streams one file to NAME.part, verifies its checksum and renames it.
func fetch(ctx context.Context, a *agentSession, index int32, root *os.Root, name string) error {
	stream, err := a.client.Collect(ctx, &dbtesterpb.CollectRequest{RunId: a.runID, Index: index})
	if err != nil {
		return a.failed(err)
	}
	if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o755); err != nil {
		return err
	}
	part := name + ".part"
	out, err := root.Create(part)
	if err != nil {
		return err
	}
	sum := sha256.New()
	var want []byte
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(a.failed(err), out.Close())
		}
		if len(chunk.Sha256) > 0 {
			want = chunk.Sha256
		}
		if _, err := io.MultiWriter(out, sum).Write(chunk.Data); err != nil {
			return errors.Join(err, out.Close())
		}
	}
	if err := errors.Join(out.Sync(), out.Close()); err != nil {
		return err
	}
	if !bytes.Equal(want, sum.Sum(nil)) {
		return errors.New("the file's checksum is not the agent's")
	}
	return root.Rename(part, name)
}
