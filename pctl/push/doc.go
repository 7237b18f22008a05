// Package push sends profiles to the servers that store them: to Pyroscope, and by OTLP to what speaks that.
//
// A [Pusher] encodes a profile in the goroutine that hands it over and keeps it, as the bytes of one request, in a queue.
// Push never waits for the network. Senders take requests from the queue, oldest first, and try each again while the
// server says that it may be tried again, for a bounded time. What cannot be sent is dropped and counted: a server that
// is away must not cost the machine more memory than the queue's bound.
//
// # Addresses
//
// The scheme of the URL says what is spoken:
//
//	http, https            Pyroscope: Push of push.v1.PusherService, as JSON
//	otlp+http, otlp+https  OTLP profiles (v1development) by HTTP
//	otlp+grpc, otlp+grpcs  the same by gRPC
//
// A path in the URL goes before the path of the call. A user and password in it become basic authentication.
//
// # Dropping
//
// A full queue drops its oldest request, whose data are worth least. A request that the server refuses (400, 401, 413, …)
// is dropped at once: it would be refused again. Others are tried again after a time that doubles, of which a
// random part is left out, so that many machines do not return to a server at the same moment.
package push
