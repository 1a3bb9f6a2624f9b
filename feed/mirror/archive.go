package mirror

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"freshet/feed/broadcast"
	"freshet/store/warc"
	"freshet/weburl"
)

// archive appends the pages of a chunk that the mirror does not hold yet to the WARC files, durably. It does so
// before the mirror has them. So no page is missing from the files after an interruption, because the client receives
// it again.
func (c *Client) archive(urls []weburl.URL, pages []broadcast.Page) error {
	if c.o.Archive == nil {
		return nil
	}
	var members [][]byte
	for i := range pages {
		page := &pages[i]
		held, had := c.folder.pages[page.URL]
		if page.Kind != "" || !c.o.Interest.Wants(urls[i]) || had && held.Digest == fmt.Sprintf("%x", page.Digest[:]) {
			continue
		}
		member, err := c.encoder.AppendMember(nil, &warc.Record{
			Type: warc.Response, Date: time.Unix(0, page.At).UTC(), TargetURI: page.URL, ContentType: warc.TypeResponse,
			PayloadDigest: page.Digest, Block: responseOf(page),
		})
		if err != nil {
			return err
		}
		members = append(members, member)
	}
	if len(members) == 0 {
		return nil
	}
	if _, err := c.o.Archive.Append(nil, members...); err != nil {
		return err
	}
	return c.o.Archive.Sync()
}

// responseOf returns the HTTP response of a page, without a transfer coding.
func responseOf(page *broadcast.Page) []byte {
	block := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n", page.Status, http.StatusText(page.Status))
	for _, field := range page.Header {
		if !strings.EqualFold(field.Name, "Transfer-Encoding") && !strings.EqualFold(field.Name, "Content-Length") {
			block = fmt.Appendf(block, "%s: %s\r\n", field.Name, field.Value)
		}
	}
	block = fmt.Appendf(block, "Content-Length: %d\r\n\r\n", len(page.Body))
	return append(block, page.Body...)
}
