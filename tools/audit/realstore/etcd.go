package realstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Etcd runs the etcd that is built into the audited program.
type Etcd struct{ Program string }

func (Etcd) Port() int { return 2379 }

func (e Etcd) Command(dir string, member int, addresses []string) (*exec.Cmd, error) {
	var initial []string
	for i, a := range addresses {
		initial = append(initial, fmt.Sprintf("m%d=http://%s:2380", i+1, a))
	}
	own := addresses[member-1]
	client, peer := "http://"+own+":2379", "http://"+own+":2380"
	return exec.Command(e.Program, "serve", "etcd", "--name", fmt.Sprintf("m%d", member), "--data-dir", dir+"/data",
		"--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
		"--initial-advertise-peer-urls", peer, "--initial-cluster", strings.Join(initial, ","), "--initial-cluster-state", "new"), nil
}

func (Etcd) Ready(ctx context.Context, address string) error {
	body, err := get(ctx, "http://"+address+":2379/health")
	if err == nil && !strings.Contains(string(body), `"health":"true"`) {
		err = fmt.Errorf("health: %s", body)
	}
	return err
}

// Keys counts the whole range linearizably through etcd's JSON gateway.
func (Etcd) Keys(ctx context.Context, address string) (int64, error) {
	body, err := post(ctx, "http://"+address+":2379/v3/kv/range", `{"key":"AA==","range_end":"AA==","count_only":true}`)
	if err != nil {
		return 0, err
	}
	var answer struct{ Count string }
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, fmt.Errorf("%s: %w", body, err)
	}
	if answer.Count == "" {
		return 0, nil
	}
	return strconv.ParseInt(answer.Count, 10, 64)
}

// Leads compares the member id with the leader id that it knows.
func (Etcd) Leads(ctx context.Context, address string) (bool, error) {
	body, err := post(ctx, "http://"+address+":2379/v3/maintenance/status", "{}")
	if err != nil {
		return false, err
	}
	var answer struct {
		Header struct {
			Member string `json:"member_id"`
		}
		Leader string
	}
	err = json.Unmarshal(body, &answer)
	return answer.Leader != "" && answer.Leader == answer.Header.Member, err
}

func get(ctx context.Context, url string) ([]byte, error) {
	return request(ctx, http.MethodGet, url, "")
}

func post(ctx context.Context, url, body string) ([]byte, error) {
	return request(ctx, http.MethodPost, url, body)
}

// errMissing is a response with status 404.
var errMissing = errors.New("404")

func request(ctx context.Context, method, url, body string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewBufferString(body))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusNotFound:
		return nil, errMissing
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", resp.Status, answer)
	}
	return answer, nil
}
