// usage: node speedscope.mjs RELEASE FILE [all]
//
// Gives FILE to the importer in the bundle of an installed speedscope (RELEASE is its directory
// dist/release) and prints what it has understood, one JSON object a profile, with all if that is given. The bundle is a web
// page's: it runs up to where it would draw, on a document of which nothing is asked.
import fs from 'node:fs'
import path from 'node:path'
import vm from 'node:vm'

const [release, file, all] = process.argv.slice(2)
const bundle = fs.readdirSync(release).find(name => /^speedscope-.*\.js$/.test(name))
const source = fs.readFileSync(path.join(release, bundle), 'utf8')
const [, importer] = /Importing as speedscope json file"\),(\w+)\(/.exec(source)
const drawing = source.lastIndexOf('console.log(`speedscope v')

const nothing = () => undefined
const element = () => ({
  style: {}, classList: {add: nothing},
  appendChild: nothing, setAttribute: nothing, addEventListener: nothing, getContext: nothing,
})
const page = {
  console, setTimeout, clearTimeout, TextDecoder, TextEncoder, URL, Blob, performance,
  navigator: {userAgent: '', platform: ''},
  location: {hash: '', protocol: 'file:', href: 'file:///'},
  localStorage: {getItem: nothing, setItem: nothing},
  matchMedia: () => ({matches: false, addListener: nothing, addEventListener: nothing}),
  addEventListener: nothing, requestAnimationFrame: nothing, fetch: nothing,
  document: {
    createElement: element, createTextNode: element, head: element(), body: element(),
    currentScript: {src: 'file:///'}, addEventListener: nothing, querySelectorAll: () => [],
  },
}
page.window = page.self = page.global = page
vm.runInContext(source.slice(0, drawing) + `globalThis.importer = ${importer}})()`, vm.createContext(page))

for (const profile of page.importer(JSON.parse(fs.readFileSync(file, 'utf8'))).profiles) {
  const frames = []
  profile.forEachFrame(frame => frames.push([frame.name, frame.getSelfWeight(), frame.getTotalWeight()]))
  const top = frames.reduce((a, b) => b[1] > a[1] ? b : a, [null, null])
  console.log(JSON.stringify({
    name: profile.getName(), unit: profile.getWeightUnit(), weight: profile.getTotalWeight(),
    top: top[0], self: top[1], ...all && {frames},
  }))
}
