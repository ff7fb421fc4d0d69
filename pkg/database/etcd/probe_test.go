package etcd

import (
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

func TestLeaderOf(t *testing.T) {
	says := func(self, leader, term uint64) *pb.StatusResponse {
		return &pb.StatusResponse{Header: &pb.ResponseHeader{MemberId: self}, Leader: leader, RaftTerm: term}
	}
	tests := []struct {
		name    string
		answers []*pb.StatusResponse
		want    int
		fails   bool
	}{
		{name: "all agree", answers: []*pb.StatusResponse{says(1, 2, 5), says(2, 2, 5), says(3, 2, 5)}, want: 1},
		{name: "one is dead", answers: []*pb.StatusResponse{nil, says(2, 3, 5), says(3, 3, 5)}, want: 2},
		{name: "an old term", answers: []*pb.StatusResponse{says(1, 1, 4), says(2, 3, 5), says(3, 3, 5)}, want: 2},
		{name: "an election", answers: []*pb.StatusResponse{says(1, 0, 6), says(2, 0, 6), says(3, 0, 6)}, fails: true},
		{name: "the leader is elsewhere", answers: []*pb.StatusResponse{says(1, 9, 5)}, fails: true},
		{name: "nobody answers", answers: []*pb.StatusResponse{nil, nil}, fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := leaderOf(tt.answers, nil)
			if (err != nil) != tt.fails || (err == nil && got != tt.want) {
				t.Errorf("got %d, %v; want %d, failure %v", got, err, tt.want, tt.fails)
			}
		})
	}
}
