package push

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"google.golang.org/protobuf/proto"

	"ptools/internal/clean"
)

// grpc makes the same export as one call of gRPC. A call with one message each way is a POST by HTTP/2. The body has a
// byte that says whether the message is compressed, the length of the message in four bytes, and the message. The outcome
// of the call is in the trailer.
type grpc struct{}

const (
	grpcPath   = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
	grpcPrefix = 5
)

func (grpc) encode(p *Profile) ([]byte, error) {
	body, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, grpcPrefix), export(p))
	if err != nil {
		return nil, err
	}
	binary.BigEndian.PutUint32(body[1:], uint32(len(body)-grpcPrefix))
	return body, nil
}

func (grpc) header() http.Header {
	return http.Header{"Content-Type": {"application/grpc+proto"}, "Te": {"trailers"}}
}

// Statuses of gRPC.
const (
	grpcOK                = 0
	grpcCancelled         = 1
	grpcDeadlineExceeded  = 4
	grpcResourceExhausted = 8
	grpcAborted           = 10
	grpcOutOfRange        = 11
	grpcUnavailable       = 14
	grpcDataLoss          = 15
)

// verdict: the definition of OTLP says which statuses may be tried again. ResourceExhausted is one of them only
// if the server says after how long, in a detail that is not read here. It is tried again anyway, after our own
// delay.
func (grpc) verdict(r *http.Response) error {
	if r.StatusCode != http.StatusOK {
		return answered(r, func(status int) bool { return status == http.StatusTooManyRequests || status > 500 })
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, longestAnswer))
	if err != nil {
		return &again{err: fmt.Errorf("push: answer: %w", err)}
	}
	said := r.Trailer
	if r.Header.Get("Grpc-Status") != "" { // then the answer is only a header
		said = r.Header
	}
	status, err := strconv.Atoi(said.Get("Grpc-Status"))
	if err != nil {
		return errors.New("push: the server's answer is not one of gRPC")
	}
	switch status {
	case grpcOK:
		if len(body) < grpcPrefix || body[0] != 0 || uint64(binary.BigEndian.Uint32(body[1:])) != uint64(len(body)-grpcPrefix) {
			return errors.New("push: the server's answer is not one message of gRPC")
		}
		return accepted(body[grpcPrefix:])
	case grpcCancelled, grpcDeadlineExceeded, grpcResourceExhausted, grpcAborted, grpcOutOfRange, grpcUnavailable, grpcDataLoss:
		return &again{err: grpcError(status, said)}
	}
	return grpcError(status, said)
}

func grpcError(status int, said http.Header) error {
	text := said.Get("Grpc-Message")
	if t, err := url.PathUnescape(text); err == nil {
		text = t
	}
	return fmt.Errorf("push: the server says gRPC status %d: %s", status, clean.Text(text))
}
