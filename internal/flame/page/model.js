// model.js: what is in the page's data, and trees of it.

const KIND = {code: 0, kernel: 1, call: 2, unknown: 3, group: 4}

// A Tree has its nodes in depth-first order: node n and all below it are n up to end[n]-1. Node 0 is the root.
class Tree {
  constructor(values) {
    this.parent = [-1]
    this.frame = [-1]
    this.depth = [0]
    this.row = [-1]
    this.end = []
    this.self = Array.from({length: values}, () => [0])
    this.maxDepth = 0
  }

  push(parent, frame, row) {
    const n = this.frame.length
    this.parent.push(parent)
    this.frame.push(frame)
    this.depth.push(this.depth[parent] + 1)
    this.row.push(row)
    for (const self of this.self) self.push(0)
    return n
  }

  // finish is called when all nodes and counts are in.
  finish() {
    const size = this.size = this.frame.length
    for (const name of ['parent', 'frame', 'depth', 'row']) this[name] = Int32Array.from(this[name])
    this.self = this.self.map(self => Float64Array.from(self))
    const end = this.end = new Int32Array(size)
    let deepest = 0
    for (let n = size - 1; n >= 0; n--) {
      if (end[n] === 0) end[n] = n + 1
      const p = this.parent[n]
      if (p >= 0 && end[p] < end[n]) end[p] = end[n]
      if (this.depth[n] > deepest) deepest = this.depth[n]
    }
    this.maxDepth = deepest
    this.sums = []
    return this
  }

  // totals returns what each node and all below it count of a value.
  totals(value) {
    if (!this.sums[value]) {
      const total = this.sums[value] = Float64Array.from(this.self[value])
      for (let n = this.size - 1; n > 0; n--) total[this.parent[n]] += total[n]
    }
    return this.sums[value]
  }

  // place gives every node the offset at which it begins, in the unit of a value. Those that it calls come first,
  // side by side; what is left over is its own.
  place(value) {
    this.value = value
    const total = this.total = this.totals(value)
    const start = this.start = new Float64Array(this.size)
    const free = new Float64Array(this.size)
    for (let n = 1; n < this.size; n++) {
      const p = this.parent[n]
      start[n] = free[n] = free[p]
      free[p] += total[n]
    }
    return this
  }
}

// A Trie is a tree in the making whose nodes come in any order.
class Trie {
  constructor(values, model) {
    this.model = model
    this.values = values
    this.frames = [-1]
    this.parents = [-1]
    this.self = [new Array(values).fill(0)]
    this.children = new Map()
  }

  child(parent, frame) {
    const key = parent * this.model.names.length + frame
    let n = this.children.get(key)
    if (n === undefined) {
      n = this.frames.length
      this.children.set(key, n)
      this.frames.push(frame)
      this.parents.push(parent)
      this.self.push(new Array(this.values).fill(0))
    }
    return n
  }

  // tree sorts siblings by frame, which is by name.
  tree(frame) {
    const below = this.frames.map(() => [])
    for (let n = 1; n < this.frames.length; n++) below[this.parents[n]].push(n)
    const out = new Tree(this.values)
    out.frame[0] = frame
    const todo = [[0, 0]]
    const add = (n, at) => {
      for (let v = 0; v < this.values; v++) out.self[v][at] = this.self[n][v]
      for (const child of below[n].sort((a, b) => this.frames[b] - this.frames[a])) todo.push([child, at])
    }
    todo.pop()
    add(0, 0)
    while (todo.length > 0) {
      const [n, parent] = todo.pop()
      add(n, out.push(parent, this.frames[n], -1))
    }
    return out.finish()
  }
}

class Model {
  constructor(data) {
    this.data = data
    this.title = data.title
    this.about = data.about
    this.values = data.values
    this.compared = !!data.compared // then counts has those of an earlier profile behind them
    this.columns = data.counts.length
    this.initial = data.initial
    this.threads = data.threads
    this.readFrames(data)
    this.readTree(data)
    this.readGroups()
  }

  // readFrames makes the names, and the rows of tables: first one of each frame, then those of functions in system calls.
  readFrames(data) {
    const {strings, frames, rows} = data
    this.names = []
    this.objects = []
    this.kinds = []
    for (let i = 0; i < frames.length; i += 3) {
      this.names.push(strings[frames[i]])
      this.objects.push(strings[frames[i + 1]])
      this.kinds.push(frames[i + 2])
    }
    const homes = new Map()
    for (const name of this.names) homes.set(name, (homes.get(name) || 0) + 1)
    this.labels = this.names.map((name, i) => {
      const object = this.objects[i]
      return object && (homes.get(name) > 1 || this.kinds[i] === KIND.unknown) ? `${name} (${base(object)})` : name
    })
    this.rowFrames = this.names.map((_, i) => i)
    this.rowNames = this.labels.slice()
    this.plainRows = this.names.length
    for (let i = 0; i < rows.length; i += 2) {
      this.rowFrames.push(rows[i])
      this.rowNames.push(this.labels[rows[i]] + (rows[i + 1] < 0 ? '' : ' ' + this.names[rows[i + 1]]))
    }
  }

  readTree({nodes, depths, calls, cellNodes, cellThreads, counts}) {
    const tree = this.tree = new Tree(0)
    const size = nodes.length + 1
    const parent = tree.parent = new Int32Array(size)
    tree.frame = new Int32Array(size)
    tree.depth = new Int32Array(size)
    tree.frame[0] = parent[0] = -1
    tree.frame.set(nodes, 1)
    tree.depth.set(depths, 1)
    const path = [0]
    for (let n = 1; n < size; n++) {
      parent[n] = path[depths[n - 1] - 1]
      path[depths[n - 1]] = n
    }
    tree.row = tree.frame.map(f => this.kinds[f] === KIND.group ? -1 : f)
    for (let i = 0; i < calls.length; i += 2) tree.row[calls[i]] = this.rowOf(calls[i + 1])
    this.cellNodes = Int32Array.from(cellNodes)
    for (let i = 1; i < cellNodes.length; i++) this.cellNodes[i] += this.cellNodes[i - 1]
    this.cellThreads = cellThreads
    this.counts = counts
    tree.self = counts.map(count => {
      const self = new Float64Array(size)
      for (let i = 0; i < count.length; i++) self[this.cellNodes[i]] += count[i]
      return self
    })
    tree.finish()
  }

  // rowOf returns the row of a table with this number in the data: that of the function itself, if the call has its name.
  rowOf(i) {
    const row = this.plainRows + i
    const name = this.rowNames[row]
    const frame = this.rowFrames[row]
    return name === this.labels[frame] ? frame : row
  }

  // readGroups adds a frame for each process, thread name and thread.
  readGroups() {
    const group = label => {
      this.names.push(label)
      this.labels.push(label)
      this.objects.push('')
      this.kinds.push(KIND.group)
      return this.names.length - 1
    }
    const by = name => {
      const frames = new Map()
      return this.threads.map(t => {
        const label = name(t)
        if (!frames.has(label)) frames.set(label, group(label))
        return frames.get(label)
      })
    }
    this.groups = {
      process: by(t => `${t.process} (pid ${t.pid})`),
      name: by(t => t.name),
      thread: by(t => t.tid ? `${t.name} (tid ${t.tid})` : `${t.name} (pid ${t.pid})`),
    }
  }

  // within returns the model of the cells [node, thread, nanoseconds that run, are ready, wait] of a part of the time. Its
  // values have the names of those of the whole model, as far as times of states can say them.
  within(cells) {
    cells.sort((a, b) => a[0] - b[0] || a[1] - b[1])
    const values = [
      {name: 'processor', of: c => c[2]}, {name: 'wall', of: c => c[2] + c[3] + c[4]}, {name: 'ready', of: c => c[3]},
    ]
    const {data} = this
    const initial = values.findIndex(v => v.name === data.values[data.initial]?.name)
    const part = new Model({
      ...data, compared: false, initial: Math.max(initial, 0), values: values.map(({name}) => ({name, time: true})),
      cellNodes: cells.map(([node], i) => node - (i > 0 ? cells[i - 1][0] : 0)), cellThreads: cells.map(c => c[1]),
      counts: values.map(({of}) => cells.map(of)),
    })
    const {homes, order, hues, widest} = this // the colours stay
    return Object.assign(part, {homes, order, hues, widest})
  }

  // key names a frame in other models of the same profile, and find is its inverse: -1 if there is none.
  key(frame) { return `${this.kinds[frame]} ${this.objects[frame]} ${this.names[frame]}` }

  find(key) { return this.names.findIndex((_, frame) => this.key(frame) === key) }

  get processes() { return new Set(this.groups.process).size }

  // apart returns the tree with a level of processes or threads at its root, the largest first.
  apart(kind, value) {
    const of = this.groups[kind]
    if (!of) return this.tree
    const cells = new Map()
    const sums = new Map()
    for (let i = 0; i < this.cellNodes.length; i++) {
      const g = of[this.cellThreads[i]]
      if (!cells.has(g)) cells.set(g, [])
      cells.get(g).push(i)
      sums.set(g, (sums.get(g) || 0) + this.counts[value][i])
    }
    const base = this.tree
    const out = new Tree(this.columns)
    const at = new Int32Array(base.size)
    const seen = new Int32Array(base.size).fill(-1)
    const order = [...cells.keys()].sort((a, b) => sums.get(b) - sums.get(a) || a - b)
    for (const g of order) {
      const nodes = []
      for (const i of cells.get(g)) {
        for (let n = this.cellNodes[i]; n > 0 && seen[n] !== g; n = base.parent[n]) {
          seen[n] = g
          nodes.push(n)
        }
      }
      at[0] = out.push(0, g, -1)
      for (const n of Int32Array.from(nodes).sort()) at[n] = out.push(at[base.parent[n]], base.frame[n], base.row[n])
      for (const i of cells.get(g)) this.counts.forEach((count, v) => { out.self[v][at[this.cellNodes[i]]] += count[i] })
    }
    return out.finish()
  }

  // before returns what a node and all below it counted in the earlier profile.
  before(tree, n) { return tree.totals(tree.value + this.values.length)[n] }

  // outermost calls f for every node of a function that is not below another of the same.
  outermost(frame, f) {
    const tree = this.tree
    for (let n = 1; n < tree.size;) {
      if (tree.frame[n] === frame) {
        f(n)
        n = tree.end[n]
      } else n++
    }
  }

  // callees returns what a function calls, all its callers taken together.
  callees(frame) {
    const tree = this.tree
    const trie = new Trie(this.columns, this)
    const at = new Int32Array(tree.size)
    this.outermost(frame, from => {
      for (let n = from; n < tree.end[from]; n++) {
        at[n] = n === from ? 0 : trie.child(at[tree.parent[n]], tree.frame[n])
        for (let v = 0; v < tree.self.length; v++) trie.self[at[n]][v] += tree.self[v][n]
      }
    })
    return trie.tree(frame)
  }

  // callers returns the callers of a function, the direct ones next to it.
  callers(frame) {
    const tree = this.tree
    const trie = new Trie(this.columns, this)
    this.outermost(frame, from => {
      let at = 0
      for (let n = tree.parent[from]; n > 0; n = tree.parent[n]) at = trie.child(at, tree.frame[n])
      for (let v = 0; v < tree.self.length; v++) trie.self[at][v] += tree.totals(v)[from]
    })
    return trie.tree(frame)
  }

  // table returns the rows of functions below a node of a tree, as [row, self, total]: self of stacks that the
  // function is innermost in, total of those that it is in. A function that recurses is on its stack once.
  table(tree, top, value) {
    const rows = this.rowNames.length
    const self = new Float64Array(rows)
    const total = new Float64Array(rows)
    const onPath = new Int32Array(rows)
    const path = []
    const inCalls = this.inCalls(tree, value)
    const own = tree.self[value]
    const all = tree.totals(value)
    for (let n = top; n < tree.end[top]; n++) {
      while (path.length > 0 && tree.end[path[path.length - 1]] <= n) onPath[tree.row[path.pop()]]--
      const row = tree.row[n]
      if (row < 0) continue
      self[row] += own[n]
      if (onPath[row] === 0) total[row] += all[n] - inCalls[n]
      onPath[row]++
      path.push(n)
    }
    const list = []
    for (let row = 0; row < rows; row++) if (self[row] > 0 || total[row] > 0) list.push({row, self: self[row], total: total[row]})
    return list
  }

  // inCalls returns what each node's system calls count that have rows of their own.
  inCalls(tree, value) {
    const sums = new Float64Array(tree.size)
    const total = tree.totals(value)
    for (let n = 1; n < tree.size; n++) {
      const p = tree.parent[n]
      if (tree.row[n] !== tree.frame[n] && tree.row[n] >= 0 && tree.row[n] !== tree.row[p]) sums[p] += total[n]
    }
    return sums
  }
}

// base returns what is behind the last slash.
function base(path) { return path.slice(path.lastIndexOf('/') + 1) }

// amount shows a value as people read it.
function amount(n, value) {
  if (!value.time) return n.toLocaleString('en')
  for (const [unit, ns] of [['s', 1e9], ['ms', 1e6], ['µs', 1e3]]) {
    const x = n / ns
    if (x >= 1) return `${x.toFixed(x >= 100 ? 0 : x >= 10 ? 1 : 2)} ${unit}`
  }
  return `${n} ns`
}

function share(n, whole) { return whole > 0 ? `${(100 * n / whole).toFixed(2)} %` : '0.00 %' }
