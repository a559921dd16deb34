// jest's `testSequencer`: the files that take longest come first, so that no long one runs alone at the end. A fresh clone has
// no times of its own, so the repository has them: `npm test -- --weigh` writes them anew.
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
