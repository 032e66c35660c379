"""What a file of image codes carries besides its weights: how many channels pictures have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regard.checkpoint import StoredAssets
from regard.data.captioned import CaptionedSet, Report, open_set
from regard.errors import DataError
from regard.tasks.text_assets import require


@dataclass(frozen=True)
class CodesAssets:
    """1: grey, 3: colour."""

    channels: int

    @classmethod
    def read(cls, stored: StoredAssets) -> CodesAssets:
        channels = require(stored.content, "channels", int)
        if channels not in (1, 3):
            raise DataError(f"its pictures have {channels} channels instead of 1 or 3")
        return cls(channels)

    def write(self) -> StoredAssets:
        return StoredAssets({"channels": self.channels})

    @property
    def sizes(self) -> tuple[int]:
        return (self.channels,)


def open_prepared(folder: Path, report: Report) -> tuple[CodesAssets, CaptionedSet, CaptionedSet]:
    """What data/captioned.py built."""
    return CodesAssets(report.channels), open_set(folder, "train", report), open_set(folder, "valid", report)
