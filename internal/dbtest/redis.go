package dbtest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

var redisRecipe = recipe{
	programs: []string{"redis-server"},
	install:  "redis-server (apt) or redis (Homebrew)",

	layOut: func(*Server) error { return nil },
	args:   redisArgs,
	dsn:    func(s *Server, _ string) string { return "redis://" + s.Addr },
	ask:    redisAsk,

	shutDown: syscall.SIGTERM,
	abandon:  syscall.SIGKILL,
}

func redisArgs(s *Server) ([]string, error) {
	args := []string{"--bind", "127.0.0.1", "--port", strconv.Itoa(s.port), "--dir", s.dataDir(), "--save", ""}
	if s.options.Durable {
		args = append(args, "--appendonly", "yes", "--appendfsync", "always")
	}
	return args, nil
}

func redisAsk(ctx context.Context, s *Server) error {
	client := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
	defer client.Close()
	text, err := client.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	if ours := fmt.Sprintf("process_id:%d\r\n", s.process.pid); !strings.Contains(text, ours) {
		return fmt.Errorf("the server at %s is not the one that was started", s.Addr)
	}
	return nil
}
