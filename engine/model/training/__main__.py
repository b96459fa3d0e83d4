"""Make the bundled model from nothing: ``python -m slotview.engine.model.training DIRECTORY``."""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path

import torch

from .bpe import Bpe, train_bpe
from .documents import documents
from .export import export
from .report import report
from .shape import SHAPE
from .train import load_network, train

_BPE_SEED = 7
_BPE_TEXTS = 20000
_FILE = "slotview-1m.gguf"


def _tokenizer(path: Path) -> Bpe:
    if not path.exists():
        train_bpe(islice(documents(_BPE_SEED), _BPE_TEXTS), SHAPE.vocab).save(path)
    return Bpe.load(path)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m slotview.engine.model.training", description=__doc__)
    parser.add_argument("directory", type=Path, help="for the tokenizer, the checkpoint and the GGUF file")
    parser.add_argument("--threads", type=int, default=2, help="threads of PyTorch (default 2)")
    parser.add_argument("--compile", action="store_true", help="compile the network first (needs a C++ compiler)")
    parser.add_argument("--export-only", action="store_true", help="write the newest checkpoint as it is")
    return parser.parse_args()


def main() -> None:
    """Train in the given directory (a second call goes on where the first one stopped), export, and print a report."""
    options = _options()
    torch.set_num_threads(options.threads)
    options.directory.mkdir(parents=True, exist_ok=True)
    bpe = _tokenizer(options.directory / "bpe.json")
    checkpoint = options.directory / "checkpoint.pt"
    if options.export_only:
        export(load_network(checkpoint), bpe, options.directory / _FILE)
        return
    network = train(bpe, checkpoint, compiled=options.compile)
    export(network, bpe, options.directory / _FILE)
    print(report(network, bpe))


if __name__ == "__main__":
    main()
