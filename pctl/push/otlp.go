package push

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"ptools/internal/clean"
)

// otlp makes the export of OTLP profiles by HTTP, in protobuf.
type otlp struct{}

const otlpPath = "/v1development/profiles"

func (otlp) encode(p *Profile) ([]byte, error) { return proto.Marshal(export(p)) }

func (otlp) header() http.Header { return http.Header{"Content-Type": {"application/x-protobuf"}} }

// verdict: by the protocol's definition, only these statuses are tried again.
func (otlp) verdict(r *http.Response) error {
	if r.StatusCode != http.StatusOK {
		return answered(r, func(status int) bool {
			switch status {
			case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
				return true
			}
			return false
		})
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, longestAnswer))
	if err != nil {
		return &again{err: fmt.Errorf("push: answer: %w", err)}
	}
	return accepted(body)
}

// longestAnswer is longer than any useful answer about one profile.
const longestAnswer = 64 << 10

// accepted reads the message of an export that succeeded. It may say that the server has discarded the profile.
func accepted(body []byte) error {
	var answer collector.ExportProfilesServiceResponse
	if err := proto.Unmarshal(body, &answer); err != nil {
		return errors.New("push: the server's answer is no export response")
	}
	if n := answer.GetPartialSuccess().GetRejectedProfiles(); n > 0 {
		return fmt.Errorf("push: the server rejects %d: %s", n, clean.Text(answer.GetPartialSuccess().GetErrorMessage()))
	}
	return nil
}
