package objects

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
)

// TestSilentServer holds that a list ends with an error if the server falls silent in the middle of its answer.
func TestSilentServer(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://s3.test")
	t.Setenv("AWS_ACCESS_KEY_ID", "somebody")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	synctest.Test(t, func(t *testing.T) {
		b, err := openBucket("s3://crawls")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b.transport.DialContext = impatient(func(context.Context, string, string) (net.Conn, error) {
			server, client := net.Pipe()
			go func() {
				defer server.Close()
				if _, err := http.ReadRequest(bufio.NewReader(server)); err == nil {
					fmt.Fprint(server, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<ListBucketResult>")
				}
				<-ctx.Done()
			}()
			return client, nil
		})
		ended := false
		for _, err := range b.List(ctx, "warc/") {
			if ended = true; !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the list ends with %v", err)
			}
		}
		if !ended {
			t.Error("the list ends without an error")
		}
		b.Close()
	})
}
