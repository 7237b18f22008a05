// Package push sends profiles to servers that store them: to Pyroscope, and to those that take OTLP.
//
// A [Pusher] encodes a profile in the goroutine that calls Push, and keeps the bytes of the request in a queue. Push
// never waits for the network. Senders take requests from the queue, oldest first. They try each again for a bounded
// time, while the server says that it may be tried again. What cannot be sent is dropped and counted: an absent server
// must not cost the machine more memory than the queue's bound.
//
// # Addresses
//
// The scheme of the URL selects the protocol:
//
//	http, https            Pyroscope: Push of push.v1.PusherService, as JSON
//	otlp+http, otlp+https  OTLP profiles (v1development) by HTTP
//	otlp+grpc, otlp+grpcs  the same by gRPC
//
// A path in the URL is put before the path of the call. A user and password in the URL become basic authentication.
//
// # Dropping
//
// A full queue drops its oldest request, whose data are worth least. A request that the server refuses (400, 401, 413, …)
// is dropped at once: it would be refused again. Others are tried again after a delay that doubles. A random part of the
// delay is left out, so that many machines do not return to a server at the same moment.
package push
