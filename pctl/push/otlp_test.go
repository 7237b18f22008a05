package push

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

// receiver is a server of OTLP by HTTP and gRPC that has one answer.
type receiver struct {
	t      *testing.T
	answer *collector.ExportProfilesServiceResponse
	status string // of gRPC
	got    *collector.ExportProfilesServiceRequest
}

func (s *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	rpc := r.Header.Get("Content-Type") == "application/grpc+proto"
	if rpc {
		if r.ProtoMajor != 2 || r.Header.Get("Te") != "trailers" || r.URL.Path != grpcPath {
			s.t.Errorf("%s %s, te %q", r.Proto, r.URL.Path, r.Header.Get("Te"))
		}
		if n := binary.BigEndian.Uint32(body[1:]); body[0] != 0 || int(n) != len(body)-grpcPrefix {
			s.t.Errorf("prefix %x before %d bytes", body[:grpcPrefix], len(body)-grpcPrefix)
		}
		body = body[grpcPrefix:]
	} else if r.URL.Path != otlpPath || r.Header.Get("Content-Type") != "application/x-protobuf" {
		s.t.Errorf("%s, %s", r.URL.Path, r.Header.Get("Content-Type"))
	}
	s.got = new(collector.ExportProfilesServiceRequest)
	if err := proto.Unmarshal(body, s.got); err != nil {
		s.t.Error(err)
	}
	out, err := proto.Marshal(s.answer)
	if err != nil {
		s.t.Error(err)
	}
	if !rpc {
		w.Write(out)
		return
	}
	w.Header().Set("Content-Type", "application/grpc")
	if s.status != "0" { // nothing but a header
		w.Header().Set("Grpc-Status", s.status)
		w.Header().Set("Grpc-Message", "no%1b%20room")
		return
	}
	w.Header().Set("Trailer", "Grpc-Status")
	w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(out))), out...))
	w.Header().Set("Grpc-Status", s.status)
}

// serve starts an HTTP server of both versions without encryption.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	done := make(chan struct{})
	go func() { // until the server is closed, below
		defer close(done)
		server.Serve(l)
	}()
	t.Cleanup(func() { server.Close(); <-done })
	return l.Addr().String()
}

// TestOTLP sends a profile by both ways and reads it back, through every table.
func TestOTLP(t *testing.T) {
	for _, scheme := range []string{"otlp+http://", "otlp+grpc://"} {
		t.Run(scheme, func(t *testing.T) {
			s := &receiver{t: t, answer: &collector.ExportProfilesServiceResponse{}, status: "0"}
			p, err := New(Config{URL: scheme + serve(t, s)})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Push(exampleOf("work")); err != nil {
				t.Fatal(err)
			}
			if c := wait(t, p); c.Sent != 1 || c.Failures != 0 {
				t.Fatalf("counters %+v", c)
			}
			checkExport(t, s.got)
		})
	}
}

func checkExport(t *testing.T, got *collector.ExportProfilesServiceRequest) {
	t.Helper()
	d := got.Dictionary
	attributes := make(map[string]string)
	for _, kv := range got.ResourceProfiles[0].Resource.Attributes {
		attributes[kv.Key] = text(kv.Value)
	}
	for key, want := range map[string]string{"service.name": "work", "process.executable.name": "work", "process.pid": "#42", "pod/name": "a"} {
		if attributes[key] != want {
			t.Errorf("resource has %s %q, not %q", key, attributes[key], want)
		}
	}
	scope := got.ResourceProfiles[0].ScopeProfiles[0]
	if scope.Scope.Name != "process_cpu" || len(scope.Profiles) != 2 {
		t.Fatalf("scope %v with %d profiles", scope.Scope, len(scope.Profiles))
	}
	var lines []string
	for _, p := range scope.Profiles {
		kind := d.StringTable[p.SampleType.TypeStrindex] + "/" + d.StringTable[p.SampleType.UnitStrindex]
		if p.TimeUnixNano != uint64(example().TimeNanos) || p.DurationNano != 10e9 || p.Period != 1e7 || len(p.ProfileId) != 16 {
			t.Errorf("%s: %v", kind, p)
		}
		for _, s := range p.Samples {
			lines = append(lines, kind+" "+stack(d, s)+" "+time.Duration(s.Values[0]).String())
		}
	}
	want := []string{
		"samples/count thread.name=worker thread.id=#7 main:1 hash:2 3ns",
		"samples/count thread.name=main thread.id=#6 main:1 odd\uFFFD:3 1ns",
		"samples/count main:1 1ns",
		"cpu/nanoseconds thread.name=worker thread.id=#7 main:1 hash:2 30ms",
		"cpu/nanoseconds thread.name=main thread.id=#6 main:1 odd\uFFFD:3 10ms",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("samples\n%s\nnot\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if len(d.MappingTable) != 2 || len(d.FunctionTable) != 4 || len(d.LocationTable) != 4 || len(d.StackTable) != 4 || d.StringTable[0] != "" {
		t.Errorf("tables of %d mappings, %d functions, %d locations, %d stacks", len(d.MappingTable), len(d.FunctionTable), len(d.LocationTable), len(d.StackTable))
	}
	if a := d.AttributeTable[d.MappingTable[1].AttributeIndices[0]]; d.StringTable[a.KeyStrindex] != buildID || text(a.Value) != "abcd" {
		t.Errorf("mapping has %v", a)
	}
}

func text(v *common.AnyValue) string {
	if n, ok := v.Value.(*common.AnyValue_IntValue); ok {
		return "#" + strconv.FormatInt(n.IntValue, 10)
	}
	return v.GetStringValue()
}

// stack is a sample's attributes and functions, outermost first.
func stack(d *profiles.ProfilesDictionary, s *profiles.Sample) string {
	var words []string
	for _, i := range s.AttributeIndices {
		a := d.AttributeTable[i]
		words = append(words, d.StringTable[a.KeyStrindex]+"="+text(a.Value))
	}
	for _, i := range slices.Backward(d.StackTable[s.StackIndex].LocationIndices) {
		l := d.LocationTable[i]
		words = append(words, d.StringTable[d.FunctionTable[l.Lines[0].FunctionIndex].NameStrindex]+":"+strconv.FormatInt(l.Lines[0].Line, 10))
	}
	return strings.Join(words, " ")
}

// TestRejected: a profile that a server does not store is not counted as sent, even if the call
// succeeds.
func TestRejected(t *testing.T) {
	rejects := &collector.ExportProfilesServiceResponse{PartialSuccess: &collector.ExportProfilesPartialSuccess{RejectedProfiles: 1, ErrorMessage: "no\x1broom"}}
	for _, tc := range []struct {
		scheme, status, said string
		answer               *collector.ExportProfilesServiceResponse
	}{
		{"otlp+http://", "", `rejects 1: no\x1broom`, rejects},
		{"otlp+grpc://", "0", `rejects 1: no\x1broom`, rejects},
		{"otlp+grpc://", "3", `status 3: no\x1b room`, nil},
	} {
		s := &receiver{t: t, answer: tc.answer, status: tc.status}
		p, err := New(Config{URL: tc.scheme + serve(t, s)})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Push(exampleOf("work")); err != nil {
			t.Fatal(err)
		}
		if c := wait(t, p); c.Refused != 1 || c.Sent != 0 || !strings.Contains(c.LastError, tc.said) {
			t.Errorf("%s %s: counters %+v", tc.scheme, tc.status, c)
		}
	}
}

// FuzzVerdict: whatever a server answers, it is read as an answer or an error, and an error has no control characters.
func FuzzVerdict(f *testing.F) {
	f.Add(200, "0", "", []byte{0, 0, 0, 0, 0})
	f.Add(200, "8", "busy%", []byte{})
	f.Add(200, "", "", []byte("HTTP"))
	f.Add(503, "", "\x1b[31m", []byte{0xff})
	f.Fuzz(func(t *testing.T, status int, code, message string, body []byte) {
		for _, p := range []protocol{pyroscope{}, otlp{}, grpc{}} {
			err := p.verdict(&http.Response{
				StatusCode: status, Status: message, Body: io.NopCloser(bytes.NewReader(body)), Header: http.Header{},
				Trailer: http.Header{"Grpc-Status": {code}, "Grpc-Message": {message}},
			})
			if err != nil && strings.ContainsAny(err.Error(), "\x1b\n\r\x00") {
				t.Errorf("%T: %q", p, err)
			}
		}
	})
}
