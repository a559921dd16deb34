// jest's `testSequencer`: the files that take longest come first, so that no long one runs alone at the end. A fresh clone has
// no times yet, so the repository contains them: `npm test -- --weigh` updates them.
const { readFileSync } = require('node:fs');
const { join, relative } = require('node:path');

module.exports = class LongestFirst {
  constructor({ globalConfig: { rootDir } }) {
    /** In seconds. */
    const weights = JSON.parse(readFileSync(join(rootDir, 'test', 'weights.json'), 'utf8'));
    this.weightOf = ({ path }) => weights[relative(rootDir, path)] ?? 0;
  }

  sort(tests) {
    return [...tests].sort((a, b) => this.weightOf(b) - this.weightOf(a));
  }

  cacheResults() {}
};
