// Package flame draws profiles: as a page for browsers, in one file that needs
// no network, and as a picture for documents.
//
// # Graph
//
// A [Graph] is a tree of functions from the outermost callers to the leaves,
// with the counts of each thread at its nodes. It knows no processes and no
// addresses: stacks of several processes with the same functions share nodes.
//
// # Picture
//
// [Graph.SVG] writes a flame graph for documents.
//
// # Page
//
// [Graph.HTML] writes page.html with its style sheet and script in it. The data
// is a block of JSON, which browsers do not execute, and the script shows names
// as text and on a canvas only. The page's content security policy allows this
// script and this style, by their hashes, and no request at all. A page whose
// graph is Live is served, and may ask its own server for later data.
//
// The script has six parts, which are put together in this order: model.js reads the data
// and makes trees of it, paint.js draws them, table.js is the list of functions,
// timeline.js shows threads over time, live.js follows a profile that is still being
// taken, page.js handles the user's actions.
package flame
